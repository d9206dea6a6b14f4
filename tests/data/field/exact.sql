create table x (id int, n int, d date, t datetime(3), e enum('7', 'b'));
