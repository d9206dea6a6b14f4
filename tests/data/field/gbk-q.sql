-- name: three
select id from town where (id, hex(name)) in ((1,'E9818BE59F8E'),(2,'E8AAA0'),(3,'69742773'));
