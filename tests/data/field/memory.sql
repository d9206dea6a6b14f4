create table m (a int) engine = memory;
insert into m values (1), (2);
