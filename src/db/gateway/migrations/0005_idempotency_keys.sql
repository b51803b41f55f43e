ALTER TABLE `gateway_requests` ADD `idempotency_key` text;--> statement-breakpoint
CREATE UNIQUE INDEX `request_of_key` ON `gateway_requests` (`idempotency_key`) WHERE idempotency_key IS NOT NULL;