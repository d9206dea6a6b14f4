--
-- PostgreSQL database dump
--
SET client_encoding = 'UTF8';
