CREATE TABLE `deliveries` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`delivery_id` text NOT NULL,
	`rule` text NOT NULL,
	`target` text NOT NULL,
	`state` text NOT NULL,
	`gathers` integer NOT NULL,
	`attempts` integer NOT NULL,
	`created_ms` integer NOT NULL,
	`due_ms` integer NOT NULL,
	`first_attempt_ms` integer,
	`ended_ms` integer,
	`last_error` text,
	CONSTRAINT "delivery_state" CHECK("deliveries"."state" = 'pending' OR "deliveries"."state" = 'delivered' OR "deliveries"."state" = 'given_up' OR "deliveries"."state" = 'withdrawn')
);
--> statement-breakpoint
CREATE UNIQUE INDEX `deliveries_delivery_id_unique` ON `deliveries` (`delivery_id`);--> statement-breakpoint
CREATE INDEX `pending_by_rule` ON `deliveries` (`rule`,`due_ms`,`seq`) WHERE state = 'pending';--> statement-breakpoint
CREATE INDEX `by_end` ON `deliveries` (`ended_ms`) WHERE state <> 'pending';--> statement-breakpoint
CREATE INDEX `by_state` ON `deliveries` (`state`,`seq`);--> statement-breakpoint
CREATE TABLE `delivery_items` (
	`rule` text NOT NULL,
	`item_id` text NOT NULL,
	`epoch` integer NOT NULL,
	`occurrence` integer NOT NULL,
	`seq` integer NOT NULL,
	`agent_name` text NOT NULL,
	`kind` text NOT NULL,
	`item_json` text NOT NULL,
	`withdrawn` integer NOT NULL,
	`gone_ms` integer,
	PRIMARY KEY(`rule`, `item_id`, `epoch`, `occurrence`),
	FOREIGN KEY (`seq`) REFERENCES `deliveries`(`seq`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `items_of_delivery` ON `delivery_items` (`seq`);