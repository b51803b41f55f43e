ALTER TABLE `gateway_requests` ADD `turn_id` text;--> statement-breakpoint
UPDATE `gateway_requests` SET `turn_id` = CASE WHEN json_valid(`payload_json`) THEN json_extract(`payload_json`, '$.turn_id') END WHERE `payload_json` LIKE '%"turn_id"%';--> statement-breakpoint
CREATE INDEX `request_of_turn` ON `gateway_requests` (`turn_id`) WHERE turn_id IS NOT NULL;