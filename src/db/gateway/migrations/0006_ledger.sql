CREATE TABLE `gateway_ledger` (
	`seq` integer PRIMARY KEY NOT NULL,
	`turn_id` text NOT NULL,
	`part` integer NOT NULL,
	`request_id` text,
	`wake_reason` text NOT NULL,
	`tool` text NOT NULL,
	`source` text NOT NULL,
	`status` text NOT NULL,
	`covered` integer NOT NULL,
	`model` text,
	`input_tokens` integer NOT NULL,
	`cached_input_tokens` integer NOT NULL,
	`cache_write_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`reasoning_tokens` integer NOT NULL,
	`started_at_utc` text NOT NULL,
	`ended_at_utc` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `ledger_turn` ON `gateway_ledger` (`turn_id`,`part`);--> statement-breakpoint
CREATE INDEX `ledger_time` ON `gateway_ledger` (`started_at_utc`);--> statement-breakpoint
CREATE INDEX `ledger_request` ON `gateway_ledger` (`request_id`) WHERE request_id IS NOT NULL;--> statement-breakpoint
CREATE TABLE `gateway_ledger_start` (
	`singleton` integer PRIMARY KEY NOT NULL,
	`since_utc` text NOT NULL,
	CONSTRAINT "only_one_ledger" CHECK("gateway_ledger_start"."singleton" = 1)
);
