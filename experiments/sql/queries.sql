-- name: by_region
SELECT region, COUNT(*), SUM(price)
FROM orders JOIN customers ON customers.id = customer
GROUP BY region;

-- name: best_customers
SELECT customer, SUM(price) AS total
FROM orders
GROUP BY customer
ORDER BY total DESC, customer
LIMIT 10;

-- name: spring
SELECT COUNT(*), SUM(price), MAX(comment)
FROM orders
WHERE placed BETWEEN '2025-03-01' AND '2025-03-31';
