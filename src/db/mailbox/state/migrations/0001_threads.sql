-- Always right, because it is derived: nothing writes a summary.
CREATE VIEW `thread_summaries` AS
SELECT `thread_id`, count(*) AS `message_count`, sum(NOT `is_read`) AS `unread_count`,
  max(`created_at_utc`) AS `latest_at_utc`
FROM `message_state` GROUP BY `thread_id`;
--> statement-breakpoint
CREATE VIRTUAL TABLE `message_text` USING fts5(
  `subject`, `sender`, `body`, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2'
);
