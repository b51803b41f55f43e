-- Always right, because it is derived: nothing writes a summary.
CREATE VIEW `thread_summaries` AS
SELECT `thread_id`, count(*) AS `message_count`, min(`created_at_utc`) AS `started_at_utc`,
  max(`created_at_utc`) AS `latest_at_utc`
FROM `messages` GROUP BY `thread_id`;
