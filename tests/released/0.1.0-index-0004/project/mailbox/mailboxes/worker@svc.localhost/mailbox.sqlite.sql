BEGIN;
CREATE TABLE __migrations (idx INTEGER PRIMARY KEY, tag TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at_utc TEXT NOT NULL);
INSERT INTO "__migrations" VALUES (0, '0000_state', 'c84303d99f7beccc58f390fd9b906e5b178c6ca969421420e26798b8bab1b1ad', '2026-11-26T15:48:25.667+00:00');
INSERT INTO "__migrations" VALUES (1, '0001_threads', '060e2eae28337e2ac4794ce988c4d18ab2d2014f0f11600f6a632bfe14a374b6', '2026-11-26T15:48:25.668+00:00');
INSERT INTO "__migrations" VALUES (2, '0002_attestation', 'ed5f50b2c58eaf7a4e8d2fff176b705832e2b46a5fc02b2188eb42ee42a50691', '2026-11-26T15:48:25.668+00:00');
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
	`body_preview` text NOT NULL, `attestation` text,
	CONSTRAINT "archived_is_a_box" CHECK("message_state"."is_archived" = ("message_state"."box_name" = 'archive'))
);
INSERT INTO "message_state" VALUES (1, 'msg-20261126T154827Z-83dae39d49ee4e2b9558e04e17cc1a58', 'msg-20261126T154827Z-83dae39d49ee4e2b9558e04e17cc1a58', '2026-11-26T15:48:27.961Z', 'A harbor', 'worker@svc.localhost', 0, 0, 0, 0, 0, 'inbox', 'inbox', '{"protocol_version":3,"message_id":"msg-20261126T154827Z-83dae39d49ee4e2b9558e04e17cc1a58","thread_id":"msg-20261126T154827Z-83dae39d49ee4e2b9558e04e17cc1a58","in_reply_to":null,"references":[],"created_at_utc":"2026-11-26T15:48:27.961Z","from":{"principal_id":"SVC-worker","address":"worker@svc.localhost","display_name":"worker"},"to":[{"principal_id":"SVC-worker","address":"worker@svc.localhost","display_name":"worker"}],"cc":[],"reply_to":[],"subject":"A harbor","attachments":[],"headers":{"x-svc-attestation":{"statement":"[\"svc-mail-attestation-v1\",\"msg-20261126T154827Z-83dae39d49ee4e2b9558e04e17cc1a58\",\"2026-11-26T15:48:27.961Z\",\"worker@svc.localhost\",[\"worker@svc.localhost\"],[],\"msg-20261126T154827Z-83dae39d49ee4e2b9558e04e17cc1a58\",null,\"2bff328cd2d77d1e871d24ab0e02b4061e057f4c008e19c199208a3d74e95206\",\"8621b1fa69ec9a2da35e34483833a93164515ae05e3a0a3c7bd0c9275a3137e0\",1,null]","key":"a32O1K7ezBwyPfvYucn2gNu5zoQp66_NF5OoB5Of0o8","signature":"MfFwIIFbJJAHgm3Ng70c0iqudO5NNcGYHo22kmOqkdtTZBZcpCbAIIdLZgrVitPTM2aRtSM3m_R-Y9c1z9BLAg"}},"notify_block":null,"notify_auth":null}', 'The bell rings at noon.', 'verified');
CREATE TABLE `seeded` (
	`singleton` integer PRIMARY KEY NOT NULL,
	`generation` text NOT NULL,
	`registration_id` text NOT NULL,
	`seeded_seq` integer NOT NULL,
	CONSTRAINT "only_one_seeded" CHECK("seeded"."singleton" = 1)
);
INSERT INTO "seeded" VALUES (1, '31d86d79e6386425f4303d735a877fd1', 'reg-e22203f20d3a8ecc5045569d6c51f5db', 1);
CREATE VIRTUAL TABLE `message_text` USING fts5(
  `subject`, `sender`, `body`, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2'
);
DELETE FROM "message_text_data";
INSERT INTO "message_text_data" VALUES (1, X'01020305');
INSERT INTO "message_text_data" VALUES (10, X'00000000FF00000101010100010101010101000001');
INSERT INTO "message_text_data" VALUES (137438953473, X'000000700230610102020201740106010205010462656C6C01060102030106686172626F7201020301096C6F63616C686F7374010601010401046E6F6F6E0106010206010572696E6773010601020401037376630106010103010374686501060102020106776F726B657201060101020406080B0B100B0C0A0A');
DELETE FROM "message_text_idx";
INSERT INTO "message_text_idx" VALUES (1, X'', 2);
DELETE FROM "message_text_docsize";
INSERT INTO "message_text_docsize" VALUES (1, X'020305', 1);
DELETE FROM "message_text_config";
INSERT INTO "message_text_config" VALUES ('version', 4);
CREATE UNIQUE INDEX `message_state_message_id_unique` ON `message_state` (`message_id`);
CREATE INDEX `in_box` ON `message_state` (`box_name`,`created_at_utc`,`message_id`);
CREATE INDEX `in_box_by_read` ON `message_state` (`box_name`,`is_read`,`created_at_utc`,`message_id`);
CREATE INDEX `in_box_by_answered` ON `message_state` (`box_name`,`is_answered`,`created_at_utc`,`message_id`);
CREATE INDEX `in_box_by_both` ON `message_state` (`box_name`,`is_read`,`is_answered`,`created_at_utc`,`message_id`);
CREATE INDEX `state_by_thread` ON `message_state` (`thread_id`);
CREATE INDEX `link_to_move` ON `message_state` (`seq`) WHERE link_box IS NOT box_name;
CREATE VIEW `thread_summaries` AS
SELECT `thread_id`, count(*) AS `message_count`, sum(NOT `is_read`) AS `unread_count`,
  max(`created_at_utc`) AS `latest_at_utc`
FROM `message_state` GROUP BY `thread_id`;
COMMIT;
