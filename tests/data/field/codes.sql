create table codes (c1 varchar(9));
