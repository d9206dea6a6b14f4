create table d (a decimal(4,1));
insert into d values (3.25-1), (-1.5);
