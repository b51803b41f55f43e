/** Styles become separate files when the console is bundled: see scripts/console-assets.ts. */
declare module "*.css";
