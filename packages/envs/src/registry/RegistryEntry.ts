/** Defines the registry entry of a built-in environment. */
import type { Effect } from "effect"

export type Family =
  | "characters" // texts of single characters, for models trained from scratch
  | "data sets"
  | "format and instructions"
  | "games"
  | "preferences" // judged by another model
  | "tools"
  | "code"
  | "pictures"
  | "markets"
  | "python" // environments of Python packages
  | "servers" // environments of other programs, over a protocol
  | "data as environment" // its training data already exists

/** Requirements of an environment in addition to the policy. */
export type Need =
  | "download" // rows from the Hugging Face hub, unless a local file is named
  | "sandbox" // runs what the model writes
  | "judge" // --judge.*
  | "teacher" // --teacher.*
  | "opponent" // --opponent.*
  | "reward-model" // an HTTP endpoint that scores
  | "images" // a policy that sees
  | "network" // other hosts, while it runs
  | "python" // Python, with the environment's package
  | "tasks" // task directories, and Docker or bubblewrap

export interface Listing {
  /** The Python that has the package; null: the default one. */
  readonly python: string | null
  readonly tasks: string | null
}

export interface RegistryEntry {
  readonly layer: unknown
  readonly description: string
  readonly family: Family
  readonly needs: ReadonlyArray<Need>
  /**
   * Licence of the rows or texts it trains on, as stated on the data set's card (not legal advice: the licences of its
   * sources may differ); "generated" if it generates them, "yours" if the user provides them.
   */
  readonly dataLicence: string
  /** The data sets, environments or games of its package, or the tasks of a folder, one per line. */
  readonly names?: (input: Listing) => Effect.Effect<ReadonlyArray<string>, { readonly message: string }>
}
