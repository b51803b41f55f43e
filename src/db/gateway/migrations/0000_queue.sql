CREATE TABLE `gateway_instance` (
	`singleton` integer PRIMARY KEY NOT NULL,
	`epoch` integer NOT NULL,
	`instance_id` text,
	`reconciled_epoch` integer NOT NULL,
	CONSTRAINT "only_one_instance" CHECK("gateway_instance"."singleton" = 1)
);
--> statement-breakpoint
CREATE TABLE `gateway_requests` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`request_id` text NOT NULL,
	`request_kind` text NOT NULL,
	`lane` text NOT NULL,
	`payload_json` text NOT NULL,
	`state` text NOT NULL,
	`accepted_at_utc` text NOT NULL,
	`started_at_utc` text,
	`finished_at_utc` text,
	`managed_agent_instance_epoch` integer NOT NULL,
	`error_detail` text,
	`result_json` text,
	`evidence_json` text DEFAULT '[]' NOT NULL,
	CONSTRAINT "request_kind_known" CHECK("gateway_requests"."request_kind" = 'submit_prompt' OR "gateway_requests"."request_kind" = 'interrupt' OR "gateway_requests"."request_kind" = 'mail_notifier_prompt'),
	CONSTRAINT "lane_known" CHECK("gateway_requests"."lane" = 'interrupt' OR "gateway_requests"."lane" = 'immediate' OR "gateway_requests"."lane" = 'turn_boundary'),
	CONSTRAINT "state_known" CHECK("gateway_requests"."state" = 'accepted' OR "gateway_requests"."state" = 'running' OR "gateway_requests"."state" = 'completed' OR "gateway_requests"."state" = 'failed' OR "gateway_requests"."state" = 'coalesced')
);
--> statement-breakpoint
CREATE UNIQUE INDEX `gateway_requests_request_id_unique` ON `gateway_requests` (`request_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `one_running_request` ON `gateway_requests` (`state`) WHERE state = 'running';--> statement-breakpoint
CREATE INDEX `accepted_in_order` ON `gateway_requests` (`seq`) WHERE state = 'accepted';--> statement-breakpoint
CREATE INDEX `accepted_by_lane` ON `gateway_requests` (`lane`,`seq`) WHERE state = 'accepted';