/**
 * XGrammar in WebAssembly (`@mlc-ai/web-xgrammar`, an optional peer), which says what tokens may follow in a text that
 * a JSON schema holds.
 *
 * The package is a script for browsers that calls itself a module, so that Node can neither import nor require it: its
 * text is run as the body of a function, which gets what CommonJS modules get. Every call gives an instance of its own.
 */
import * as Installed from "@atropos/core/base/Installed"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import packageJson from "../../package.json" with { type: "json" }

/** What of the library is used. */
export interface Library {
  readonly TokenizerInfo: {
    readonly createTokenizerInfo: (
      tokens: ReadonlyArray<string>,
      kind: string,
      prependsSpace: boolean,
      size: number,
      ends: ReadonlyArray<number>
    ) => Promise<unknown>
  }
  readonly GrammarCompiler: {
    readonly createGrammarCompiler: (tokenizer: unknown, isCached: boolean) => Promise<Compiler>
  }
  readonly Grammar: { readonly fromEBNF: (text: string) => Promise<unknown> }
  readonly GrammarMatcher: {
    readonly createGrammarMatcher: (grammar: Compiled | undefined, ends: ReadonlyArray<number>) => Promise<Matcher>
  }
}

export interface Compiled {
  readonly dispose: () => void
}

export interface Compiler {
  readonly compileGrammar: (grammar: unknown) => Promise<Compiled>
}

export interface Matcher {
  readonly acceptToken: (token: number) => boolean
  /** Bit i % 32 of word i / 32 is 1 where token i may follow. */
  readonly getNextTokenBitmask: () => Promise<Int32Array>
  /** Whether it has accepted a token that ends the answer. */
  readonly isTerminated: () => boolean
  readonly dispose: () => void
}

const name = "@mlc-ai/web-xgrammar"

/** What to tell whoever has it not. */
export const missing = `answers held to a JSON schema need the package ${name}, which is not installed: npm install ${name}@${packageJson.peerDependencies[name]}`

export const isInstalled = (): boolean => Installed.folder(name, import.meta.url) !== undefined

/** Undefined where it is not installed. */
export const load = (): Library | undefined => {
  const folder = Installed.folder(name, import.meta.url)
  if (folder === undefined) return undefined
  const path = join(folder, "lib", "index.js")
  const module = { exports: {} }
  const parameters = ["exports", "module", "require", "__filename"]
  // oxlint-disable-next-line typescript/no-implied-eval -- an installed package's own file, see above
  const run = new Function(...parameters, readFileSync(path, "utf8")) as (...given: ReadonlyArray<unknown>) => void
  run(module.exports, module, createRequire(import.meta.url), path)
  // The shape is that of the pinned version.
  return module.exports as Library
}
