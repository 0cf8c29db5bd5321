/** How the suites of sandboxes run their programs. */
import type { Vitest } from "@effect/vitest"
import { Effect } from "effect"
import * as Sandbox from "../../src/sandbox/Sandbox.ts"

/** Tests of any sandbox. It is to have two workers and 20 seconds for a run: machines that run tests are busy. */
export type SandboxTests = Vitest.MethodsNonLive<Sandbox.Sandbox>

/** A program that does what `hostile` programs do not. */
export const good = "def double(x):\n    return 2 * x"

/** Whether every test held. */
export const holds = ({ tests }: Sandbox.Tested): boolean => tests.every(({ passed, total }) => passed === total)

export const run = (source: string, limits?: Sandbox.RunLimits, stdin?: string) =>
  Effect.flatMap(Sandbox.Sandbox, (sandbox) => sandbox.run({ source, ...(stdin !== undefined && { stdin }) }, limits))

export const test = (source: string, tests: Sandbox.Tests | ReadonlyArray<string>, limits?: Sandbox.RunLimits) =>
  Effect.flatMap(Sandbox.Sandbox, (sandbox) => sandbox.test({ source }, "tests" in tests ? tests : { tests }, limits))
