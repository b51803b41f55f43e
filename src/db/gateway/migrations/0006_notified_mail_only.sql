ALTER TABLE `gateway_mail_notifier` DROP COLUMN `last_notified_digest`;--> statement-breakpoint
ALTER TABLE `gateway_mail_notifier` DROP COLUMN `last_notified_repeats`;