-- name: two
select a from d;
