/**
 * Names of stored weights: `tinker://<model>/weights/<name>`, for training, and
 * `tinker://<model>/sampler_weights/<name>`, for sampling.
 */
import { Effect } from "effect"
import { type OperationFailed, wrong } from "./Failures.ts"

export const kinds = ["weights", "sampler_weights"] as const
export type Kind = (typeof kinds)[number]

export interface Address {
  readonly modelId: string
  readonly kind: Kind
  readonly name: string
}

const namePattern = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/
const idPattern = /^[A-Za-z0-9_-][A-Za-z0-9._:-]{0,199}$/

export const isName = (name: string): boolean => namePattern.test(name)
export const isModelId = (id: string): boolean => idPattern.test(id)

export const of = ({ kind, modelId, name }: Address): string => `tinker://${modelId}/${kind}/${name}`

/** The address in a path; undefined if invalid. */
export const parse = (path: string): Address | undefined => {
  const [, modelId = "", kind, name = ""] = /^tinker:\/\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(path) ?? []
  const known = kinds.find((one) => one === kind)
  return known !== undefined && isModelId(modelId) && isName(name) ? { modelId, kind: known, name } : undefined
}

export const check = (name: string): Effect.Effect<string, OperationFailed> =>
  isName(name)
    ? Effect.succeed(name)
    : Effect.fail(
        wrong(
          `the name ${JSON.stringify(name.slice(0, 200))} cannot be a checkpoint's: up to 128 letters, digits, dots, dashes and underscores`
        )
      )
