CREATE TABLE `unsynced_messages` (
	`seq` integer PRIMARY KEY NOT NULL,
	`message_id` text NOT NULL,
	`text` text NOT NULL
);
