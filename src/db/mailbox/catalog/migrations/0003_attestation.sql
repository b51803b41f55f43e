CREATE TABLE `attestation_keys` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`address` text NOT NULL,
	`public_key` text NOT NULL,
	`registration_id` text,
	`seen_at_utc` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `one_entry_for_each_key` ON `attestation_keys` (`address`,`public_key`);--> statement-breakpoint
CREATE TABLE `attested_mail` (
	`registration_id` text NOT NULL,
	`sequence` integer NOT NULL,
	`message_id` text NOT NULL,
	`hash` text NOT NULL,
	`is_cleared` integer DEFAULT false NOT NULL,
	PRIMARY KEY(`registration_id`, `sequence`)
);
--> statement-breakpoint
CREATE INDEX `attested_by_message` ON `attested_mail` (`message_id`);