CREATE TABLE `gateway_mail_notifier` (
	`singleton` integer PRIMARY KEY NOT NULL,
	`config_json` text NOT NULL,
	`last_poll_at_utc` text,
	`last_notification_at_utc` text,
	`last_error` text,
	`last_notified_digest` text,
	`last_notified_repeats` integer DEFAULT 0 NOT NULL,
	`updated_at_utc` text NOT NULL,
	CONSTRAINT "only_one_notifier" CHECK("gateway_mail_notifier"."singleton" = 1)
);
--> statement-breakpoint
CREATE TABLE `gateway_notifier_audit` (
	`audit_id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`poll_time_utc` text NOT NULL,
	`trigger` text NOT NULL,
	`outcome` text NOT NULL,
	`detail` text,
	`unread_count` integer,
	`unread_digest` text,
	`unread_summary_json` text DEFAULT '[]' NOT NULL,
	`request_admission` text,
	`active_execution` text,
	`queue_depth` integer,
	`enqueued_request_id` text,
	`context_error_policy` text NOT NULL,
	`pre_notification_context_action` text NOT NULL,
	`context_action_outcome` text,
	`degraded_tool_name` text,
	`degraded_error_type` text,
	`rendered_block_entries_json` text DEFAULT '[]' NOT NULL,
	`prompt_chars` integer DEFAULT 0 NOT NULL
);
