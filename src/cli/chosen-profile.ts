import {
  allProfiles,
  type CompiledProfile,
  type ProfileSet,
  profileFor,
} from "../services/terminal/profile.ts";
import { ServiceError } from "../system/errors.ts";

/** The profile of a tool that was named on the command line. Throws `invalid_request` that lists those there are. */
export function chooseProfile(tool: string, overrides: ProfileSet): CompiledProfile {
  const profile = profileFor(tool, overrides);
  if (profile) return profile;
  const known = allProfiles(overrides).map((one) => one.tool);
  throw new ServiceError("invalid_request", `no profile describes "${tool}"; known are: ${known.join(", ")}`);
}
