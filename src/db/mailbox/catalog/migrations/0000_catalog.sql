CREATE TABLE `attachments` (
	`message_id` text NOT NULL,
	`ordinal` integer NOT NULL,
	`attachment_id` text NOT NULL,
	`kind` text NOT NULL,
	`path` text NOT NULL,
	`media_type` text NOT NULL,
	`sha256` text,
	`size_bytes` integer,
	`label` text,
	PRIMARY KEY(`message_id`, `ordinal`),
	CONSTRAINT "attachment_kind_known" CHECK("attachments"."kind" = 'path_ref' OR "attachments"."kind" = 'managed_copy')
);
--> statement-breakpoint
CREATE INDEX `attachments_by_id` ON `attachments` (`attachment_id`);--> statement-breakpoint
CREATE TABLE `catalog` (
	`singleton` integer PRIMARY KEY NOT NULL,
	`generation` text NOT NULL,
	CONSTRAINT "only_one_catalog" CHECK("catalog"."singleton" = 1)
);
--> statement-breakpoint
CREATE TABLE `messages` (
	`message_id` text PRIMARY KEY NOT NULL,
	`thread_id` text NOT NULL,
	`in_reply_to` text,
	`created_at_utc` text NOT NULL,
	`subject` text NOT NULL,
	`sender_address` text NOT NULL,
	`sender_principal_id` text NOT NULL,
	`canonical_path` text NOT NULL,
	`envelope_json` text NOT NULL,
	`body_preview` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `messages_by_thread` ON `messages` (`thread_id`);--> statement-breakpoint
CREATE TABLE `pending_artifacts` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`action` text NOT NULL,
	`path` text NOT NULL,
	`destination` text,
	CONSTRAINT "action_known" CHECK("pending_artifacts"."action" = 'remove' OR "pending_artifacts"."action" = 'rename')
);
--> statement-breakpoint
CREATE TABLE `projections` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`registration_id` text NOT NULL,
	`message_id` text NOT NULL,
	`folder` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `one_projection` ON `projections` (`registration_id`,`message_id`);--> statement-breakpoint
CREATE INDEX `projections_in_order` ON `projections` (`registration_id`,`seq`);--> statement-breakpoint
CREATE INDEX `projections_by_message` ON `projections` (`message_id`);--> statement-breakpoint
CREATE TABLE `recipients` (
	`message_id` text NOT NULL,
	`ordinal` integer NOT NULL,
	`kind` text NOT NULL,
	`address` text NOT NULL,
	`principal_id` text NOT NULL,
	`delivered_registration_id` text,
	PRIMARY KEY(`message_id`, `ordinal`),
	CONSTRAINT "recipient_kind_known" CHECK("recipients"."kind" = 'to' OR "recipients"."kind" = 'cc')
);
--> statement-breakpoint
CREATE TABLE `registrations` (
	`registration_id` text PRIMARY KEY NOT NULL,
	`address` text NOT NULL,
	`owner_principal_id` text NOT NULL,
	`status` text NOT NULL,
	`mailbox_kind` text NOT NULL,
	`mailbox_path` text NOT NULL,
	`mailbox_entry_path` text NOT NULL,
	`display_name` text,
	`manifest_path_hint` text,
	`role` text,
	`created_at_utc` text NOT NULL,
	`deactivated_at_utc` text,
	`replaced_by_registration_id` text,
	CONSTRAINT "status_known" CHECK("registrations"."status" = 'active' OR "registrations"."status" = 'inactive' OR "registrations"."status" = 'stashed'),
	CONSTRAINT "kind_known" CHECK("registrations"."mailbox_kind" = 'in_root' OR "registrations"."mailbox_kind" = 'symlink')
);
--> statement-breakpoint
CREATE UNIQUE INDEX `one_active_registration` ON `registrations` (`address`) WHERE status = 'active';--> statement-breakpoint
CREATE INDEX `registrations_by_address` ON `registrations` (`address`);