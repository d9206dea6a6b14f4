-- name: two
select c1 from codes where c1 in ('C-1', 'C-2') and (select count(*) from codes) = 2;
