BEGIN;
CREATE TABLE __migrations (idx INTEGER PRIMARY KEY, tag TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at_utc TEXT NOT NULL);
INSERT INTO "__migrations" VALUES (0, '0000_catalog', 'bfe96a69664d63a2bb7eb5197ea92dcd8430b9bf57e9548e4e9322c82a9f0631', '2026-11-26T08:29:56.394+00:00');
INSERT INTO "__migrations" VALUES (1, '0001_threads', 'dfe2ed964a100fbf48da5de6a99bdfaa59e1533c40ff09dfd788248f962ff319', '2026-11-26T08:29:56.395+00:00');
INSERT INTO "__migrations" VALUES (2, '0002_host_outbox', 'c7ae484b86cd3789ad9b172b544865e2998dbecd218c97112aea603b56878412', '2026-11-26T08:29:56.396+00:00');
INSERT INTO "__migrations" VALUES (3, '0003_attestation', '4e6138095ca1b1c49193363169cd738f0d01afe678653288addb532a7792c393', '2026-11-26T08:29:56.396+00:00');
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
CREATE TABLE `catalog` (
	`singleton` integer PRIMARY KEY NOT NULL,
	`generation` text NOT NULL,
	CONSTRAINT "only_one_catalog" CHECK("catalog"."singleton" = 1)
);
INSERT INTO "catalog" VALUES (1, '85db672071b57dbb7e6ea7f906b38d1d');
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
INSERT INTO "messages" VALUES ('msg-20261126T083010Z-3ef926cc70054c1698dda7172778f28d', 'msg-20261126T083010Z-3ef926cc70054c1698dda7172778f28d', NULL, '2026-11-26T08:30:10.232Z', 'A harbor', 'worker@svc.localhost', 'SVC-worker', 'messages/2026-11-26/msg-20261126T083010Z-3ef926cc70054c1698dda7172778f28d.md', '{"protocol_version":3,"message_id":"msg-20261126T083010Z-3ef926cc70054c1698dda7172778f28d","thread_id":"msg-20261126T083010Z-3ef926cc70054c1698dda7172778f28d","in_reply_to":null,"references":[],"created_at_utc":"2026-11-26T08:30:10.232Z","from":{"principal_id":"SVC-worker","address":"worker@svc.localhost","display_name":"worker"},"to":[{"principal_id":"SVC-worker","address":"worker@svc.localhost","display_name":"worker"}],"cc":[],"reply_to":[],"subject":"A harbor","attachments":[],"headers":{"x-svc-attestation":{"statement":"[\"svc-mail-attestation-v1\",\"msg-20261126T083010Z-3ef926cc70054c1698dda7172778f28d\",\"2026-11-26T08:30:10.232Z\",\"worker@svc.localhost\",[\"worker@svc.localhost\"],[],\"msg-20261126T083010Z-3ef926cc70054c1698dda7172778f28d\",null,\"2bff328cd2d77d1e871d24ab0e02b4061e057f4c008e19c199208a3d74e95206\",\"8621b1fa69ec9a2da35e34483833a93164515ae05e3a0a3c7bd0c9275a3137e0\",1,null]","key":"rdNmCTeCNJUkqnOlVVpaRnG45lkdQs5lUPBEBT6j1xc","signature":"AB5niv1M6CxFnHiMUyANVWN-oMvi0PNncLtBTTVH5Go5RMzQxlSbz84Qd1WLSKRIiGy_Ejy78-gX_rTkQIMaAQ"}},"notify_block":null,"notify_auth":null}', 'The bell rings at noon.');
CREATE TABLE `pending_artifacts` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`action` text NOT NULL,
	`path` text NOT NULL,
	`destination` text,
	CONSTRAINT "action_known" CHECK("pending_artifacts"."action" = 'remove' OR "pending_artifacts"."action" = 'rename')
);
CREATE TABLE `projections` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`registration_id` text NOT NULL,
	`message_id` text NOT NULL,
	`folder` text NOT NULL
);
INSERT INTO "projections" VALUES (1, 'reg-dea3c6781d3837fce46631e4149c64ac', 'msg-20261126T083010Z-3ef926cc70054c1698dda7172778f28d', 'inbox');
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
INSERT INTO "recipients" VALUES ('msg-20261126T083010Z-3ef926cc70054c1698dda7172778f28d', 0, 'to', 'worker@svc.localhost', 'SVC-worker', 'reg-dea3c6781d3837fce46631e4149c64ac');
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
INSERT INTO "registrations" VALUES ('reg-d310604d3231f36defd3049d303ebbd3', 'SVC-operator@svc.localhost', 'SVC-operator', 'active', 'in_root', 'mailboxes/SVC-operator@svc.localhost', 'mailboxes/SVC-operator@svc.localhost', NULL, NULL, 'system_operator', '2026-11-26T08:29:56.462Z', NULL, NULL);
INSERT INTO "registrations" VALUES ('reg-dea3c6781d3837fce46631e4149c64ac', 'worker@svc.localhost', 'SVC-worker', 'active', 'in_root', 'mailboxes/worker@svc.localhost', 'mailboxes/worker@svc.localhost', 'worker', '{{home}}/.local/state/svc/runtime/sessions/local_interactive/local_interactive-20261126-082955Z-0cca0917/manifest.json', NULL, '2026-11-26T08:29:56.541Z', NULL, NULL);
CREATE TABLE `fleet_host` (
	`singleton` integer PRIMARY KEY NOT NULL,
	`host` text NOT NULL,
	CONSTRAINT "only_one_fleet_host" CHECK("fleet_host"."singleton" = 1)
);
CREATE TABLE `host_outbox` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`message_id` text NOT NULL,
	`host` text NOT NULL,
	`accepted_at_utc` text NOT NULL
);
CREATE TABLE `attestation_keys` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`address` text NOT NULL,
	`public_key` text NOT NULL,
	`registration_id` text,
	`seen_at_utc` text NOT NULL
);
INSERT INTO "attestation_keys" VALUES (1, 'SVC-operator@svc.localhost', 'dXD0z5IB-nS33QgGkiCM1ZhX-PP4xLFKyGMQe8mThuI', 'reg-d310604d3231f36defd3049d303ebbd3', '2026-11-26T08:29:56.508Z');
INSERT INTO "attestation_keys" VALUES (2, 'worker@svc.localhost', 'rdNmCTeCNJUkqnOlVVpaRnG45lkdQs5lUPBEBT6j1xc', 'reg-dea3c6781d3837fce46631e4149c64ac', '2026-11-26T08:29:56.562Z');
CREATE TABLE `attested_mail` (
	`registration_id` text NOT NULL,
	`sequence` integer NOT NULL,
	`message_id` text NOT NULL,
	`hash` text NOT NULL,
	`is_cleared` integer DEFAULT false NOT NULL,
	PRIMARY KEY(`registration_id`, `sequence`)
);
INSERT INTO "attested_mail" VALUES ('reg-dea3c6781d3837fce46631e4149c64ac', 1, 'msg-20261126T083010Z-3ef926cc70054c1698dda7172778f28d', '8a60433ba20267e9fb5461bd43b2ce75215f770b484b4338d3e474d1f48b4708', 0);
CREATE INDEX `attachments_by_id` ON `attachments` (`attachment_id`);
CREATE INDEX `messages_by_thread` ON `messages` (`thread_id`);
CREATE UNIQUE INDEX `one_projection` ON `projections` (`registration_id`,`message_id`);
CREATE INDEX `projections_in_order` ON `projections` (`registration_id`,`seq`);
CREATE INDEX `projections_by_message` ON `projections` (`message_id`);
CREATE UNIQUE INDEX `one_active_registration` ON `registrations` (`address`) WHERE status = 'active';
CREATE INDEX `registrations_by_address` ON `registrations` (`address`);
CREATE VIEW `thread_summaries` AS
SELECT `thread_id`, count(*) AS `message_count`, min(`created_at_utc`) AS `started_at_utc`,
  max(`created_at_utc`) AS `latest_at_utc`
FROM `messages` GROUP BY `thread_id`;
CREATE UNIQUE INDEX `one_entry_for_each_host` ON `host_outbox` (`message_id`,`host`);
CREATE UNIQUE INDEX `one_entry_for_each_key` ON `attestation_keys` (`address`,`public_key`);
CREATE INDEX `attested_by_message` ON `attested_mail` (`message_id`);
COMMIT;
