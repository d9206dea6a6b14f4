/*!40101 SET NAMES gbk */;
CREATE TABLE town (id INT PRIMARY KEY, name VARCHAR(30)) CHARSET=utf8mb4;
INSERT INTO town VALUES (1,'ß\³Ç'),(2,'Õ\');
INSERT INTO town VALUES (3,'it\'s');
