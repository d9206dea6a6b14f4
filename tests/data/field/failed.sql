mysqldump: Got error: 1045: Access denied for user
