source /etc/passwd
CREATE TABLE p (id INT);
