CREATE TABLE `gateway_keyed_calls` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`idempotency_key` text NOT NULL,
	`digest` text NOT NULL,
	`answer_json` text,
	`begun_at_utc` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `gateway_keyed_calls_idempotency_key_unique` ON `gateway_keyed_calls` (`idempotency_key`);