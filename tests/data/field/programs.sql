mysqldump: [Warning] Using a password on the command line interface can be insecure.
CREATE TABLE p (id INT PRIMARY KEY, user VARCHAR(9));
INSERT INTO p VALUES (1, 'a');
DELIMITER $$
CREATE DEFINER = 'app'@'10.0.%' TRIGGER pt BEFORE INSERT ON p FOR EACH ROW BEGIN
  SET NEW.user = COALESCE(NEW.user, 'none');
END $$
CREATE FUNCTION nf() RETURNS INT DETERMINISTIC RETURN (SELECT COUNT(*) FROM p) $$
CREATE SEQUENCE ns $$
CREATE VIEW pv AS SELECT id, user FROM p $$
DELIMITER ;
