/** Combines the built-in bank of small problems, easy ones first. */
import { easyProblems } from "./EasyProblems.ts"
import { hardProblems } from "./HardProblems.ts"
import type { Problem } from "./Problem.ts"

export const bank: ReadonlyArray<Problem> = [...easyProblems, ...hardProblems]
