CREATE TABLE `gateway_reminder_firings` (
	`firing_id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`firing_json` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `gateway_reminders` (
	`reminder_id` text PRIMARY KEY NOT NULL,
	`durable` integer NOT NULL,
	`reminder_json` text NOT NULL,
	`lost_at_utc` text
);
--> statement-breakpoint
ALTER TABLE `gateway_mail_notifier` ADD `notified_json` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `gateway_mail_notifier` DROP COLUMN `last_notified_digest`;--> statement-breakpoint
ALTER TABLE `gateway_mail_notifier` DROP COLUMN `last_notified_repeats`;