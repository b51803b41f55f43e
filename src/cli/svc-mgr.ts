#!/usr/bin/env bun
import { runManager } from "./mgr.ts";

process.exitCode = await runManager(process.argv.slice(2));
process.exit();
