-- name: two
select * from m;
