/** Small problems of our own, easy ones first. */
import { easyProblems } from "./EasyProblems.ts"
import { hardProblems } from "./HardProblems.ts"
import type { Problem } from "./Problem.ts"

export const bank: ReadonlyArray<Problem> = [...easyProblems, ...hardProblems]
