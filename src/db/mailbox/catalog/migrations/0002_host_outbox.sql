CREATE TABLE `fleet_host` (
	`singleton` integer PRIMARY KEY NOT NULL,
	`host` text NOT NULL,
	CONSTRAINT "only_one_fleet_host" CHECK("fleet_host"."singleton" = 1)
);
--> statement-breakpoint
CREATE TABLE `host_outbox` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`message_id` text NOT NULL,
	`host` text NOT NULL,
	`accepted_at_utc` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `one_entry_for_each_host` ON `host_outbox` (`message_id`,`host`);