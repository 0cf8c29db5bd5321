/**
 * Defines a verifiable constraint on an answer, and the checkers that make constraints.
 *
 * A checker is a pure function of a text and its arguments: linear in the text, total on any text; curly apostrophes
 * equal straight ones, and a letter with its accent is one letter. An answer without a letter or a digit meets no
 * constraint, so that an empty answer earns nothing. Names and arguments are those of RLVR-IFeval, whose `ground_truth`
 * is decoded by them; after Zhou et al. 2023, https://arxiv.org/abs/2311.07911.
 */
import { Result, Schema } from "effect"

export interface Constraint {
  readonly name: string
  /** The constraint as worded in a prompt. */
  readonly instruction: string
  readonly isMet: (text: string) => boolean
}

export interface Checker<A> {
  readonly name: string
  readonly make: (args: A) => Constraint
  /** Decodes the arguments of rows; fails with what is wrong with them. */
  readonly decode: (args: { readonly [name: string]: unknown }) => Result.Result<Constraint, string>
}

interface Parts<A> {
  readonly instruction: (args: A) => string
  readonly isMet: (text: string, args: A) => boolean
}

export const checker = <const Fields extends { readonly [name: string]: Schema.Codec<unknown, unknown> }>(
  name: string,
  fields: Fields,
  { instruction, isMet }: Parts<Schema.Struct.Type<Fields>>
): Checker<Schema.Struct.Type<Fields>> => {
  const decode = Schema.decodeUnknownResult(Schema.Struct(fields))
  const make = (args: Schema.Struct.Type<Fields>): Constraint => {
    const plain = Object.fromEntries(Object.entries(args).map(([key, value]) => [key, inPlain(value)])) as typeof args
    return {
      name,
      instruction: instruction(args),
      isMet: (text) => saysSomething(text) && isMet(tidy(text), plain)
    }
  }
  return {
    name,
    make,
    decode: (args) =>
      Result.mapBoth(decode(args), {
        onSuccess: make,
        onFailure: ({ message }) => `${name}: ${message.replaceAll(/(?<!\s)\s*\n\s*/g, " ")}`
      })
  }
}

/** Normalizes composed letters, line breaks and apostrophes. */
const tidy = (text: string): string => text.normalize("NFC").replaceAll(/\r\n?/g, "\n").replaceAll(/[‘’]/g, "'")

/** Normalizes texts among arguments like answers. */
const inPlain = (value: unknown): unknown =>
  typeof value === "string" ? tidy(value) : Array.isArray(value) ? value.map(inPlain) : value

const letterOrDigit = /[\p{L}\p{N}]/u

/** True if the text contains a letter or a digit. */
export const saysSomething = (text: string): boolean => letterOrDigit.test(text)
