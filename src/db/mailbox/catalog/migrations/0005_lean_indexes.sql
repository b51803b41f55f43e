DROP INDEX `messages_by_thread`;--> statement-breakpoint
DROP INDEX `projections_by_message`;--> statement-breakpoint
DROP INDEX `one_projection`;--> statement-breakpoint
CREATE UNIQUE INDEX `one_projection` ON `projections` (`message_id`,`registration_id`);
--> statement-breakpoint
-- One tree each instead of a table and the index of its key, so that a delivery changes fewer pages. The schema of the
-- library cannot say so.
CREATE TABLE `recipients_by_key` (
	`message_id` text NOT NULL,
	`ordinal` integer NOT NULL,
	`kind` text NOT NULL,
	`address` text NOT NULL,
	`principal_id` text NOT NULL,
	`delivered_registration_id` text,
	PRIMARY KEY(`message_id`, `ordinal`),
	CONSTRAINT "recipient_kind_known" CHECK(`kind` = 'to' OR `kind` = 'cc')
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `recipients_by_key` SELECT `message_id`, `ordinal`, `kind`, `address`, `principal_id`, `delivered_registration_id` FROM `recipients` ORDER BY `message_id`, `ordinal`;
--> statement-breakpoint
DROP TABLE `recipients`;
--> statement-breakpoint
ALTER TABLE `recipients_by_key` RENAME TO `recipients`;
--> statement-breakpoint
CREATE TABLE `attested_mail_by_key` (
	`registration_id` text NOT NULL,
	`sequence` integer NOT NULL,
	`message_id` text NOT NULL,
	`hash` text NOT NULL,
	`is_cleared` integer DEFAULT false NOT NULL,
	PRIMARY KEY(`registration_id`, `sequence`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO `attested_mail_by_key` SELECT `registration_id`, `sequence`, `message_id`, `hash`, `is_cleared` FROM `attested_mail` ORDER BY `registration_id`, `sequence`;
--> statement-breakpoint
DROP TABLE `attested_mail`;
--> statement-breakpoint
ALTER TABLE `attested_mail_by_key` RENAME TO `attested_mail`;
--> statement-breakpoint
CREATE INDEX `attested_by_message` ON `attested_mail` (`message_id`);
