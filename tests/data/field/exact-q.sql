-- name: two
select * from x where n in (7, 1000) and d in ('2020-12-24', '2020-02-04') and t in ('2020-12-24 10:11:12.125', '2020-12-24 10:11:00') and e in ('7', 'b');
