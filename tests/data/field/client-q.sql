-- what a client makes of it
USE shop;
SET @low = 1, sql_mode = 'ANSI_QUOTES';
-- name: three
select id from shop.a\G
-- name: two
select "id" from a where id > @low;;
DELIMITER //
-- name: one
select id from a where id > ';' + 2//
--no space, and no statement
