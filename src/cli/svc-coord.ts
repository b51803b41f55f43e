#!/usr/bin/env bun
import { runCoordinator } from "./coord.ts";

process.exitCode = await runCoordinator(process.argv.slice(2));
process.exit();
