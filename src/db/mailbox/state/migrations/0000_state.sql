CREATE TABLE `message_state` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`message_id` text NOT NULL,
	`thread_id` text NOT NULL,
	`created_at_utc` text NOT NULL,
	`subject` text NOT NULL,
	`sender` text NOT NULL,
	`is_read` integer NOT NULL,
	`is_answered` integer NOT NULL,
	`is_starred` integer DEFAULT false NOT NULL,
	`is_archived` integer NOT NULL,
	`is_deleted` integer DEFAULT false NOT NULL,
	`box_name` text NOT NULL,
	`link_box` text,
	`envelope_json` text NOT NULL,
	`body_preview` text NOT NULL,
	CONSTRAINT "archived_is_a_box" CHECK("message_state"."is_archived" = ("message_state"."box_name" = 'archive'))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `message_state_message_id_unique` ON `message_state` (`message_id`);--> statement-breakpoint
CREATE INDEX `in_box` ON `message_state` (`box_name`,`created_at_utc`,`message_id`);--> statement-breakpoint
CREATE INDEX `in_box_by_read` ON `message_state` (`box_name`,`is_read`,`created_at_utc`,`message_id`);--> statement-breakpoint
CREATE INDEX `in_box_by_answered` ON `message_state` (`box_name`,`is_answered`,`created_at_utc`,`message_id`);--> statement-breakpoint
CREATE INDEX `in_box_by_both` ON `message_state` (`box_name`,`is_read`,`is_answered`,`created_at_utc`,`message_id`);--> statement-breakpoint
CREATE INDEX `state_by_thread` ON `message_state` (`thread_id`);--> statement-breakpoint
CREATE INDEX `link_to_move` ON `message_state` (`seq`) WHERE link_box IS NOT box_name;--> statement-breakpoint
CREATE TABLE `seeded` (
	`singleton` integer PRIMARY KEY NOT NULL,
	`generation` text NOT NULL,
	`registration_id` text NOT NULL,
	`seeded_seq` integer NOT NULL,
	CONSTRAINT "only_one_seeded" CHECK("seeded"."singleton" = 1)
);
