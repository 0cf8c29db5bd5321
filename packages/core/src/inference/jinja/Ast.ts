/** Statements and expressions of a Jinja template. */

export type Expression =
  | { readonly type: "Constant"; readonly value: null | boolean | string | bigint | number }
  | { readonly type: "Name"; readonly name: string }
  | { readonly type: "List" | "Tuple"; readonly items: ReadonlyArray<Expression> }
  | { readonly type: "Dict"; readonly entries: ReadonlyArray<readonly [Expression, Expression]> }
  | { readonly type: "Attribute"; readonly of: Expression; readonly name: string }
  | { readonly type: "Item"; readonly of: Expression; readonly key: Expression }
  | {
      readonly type: "Slice"
      readonly of: Expression
      readonly parts: readonly [Expression | undefined, Expression | undefined, Expression | undefined]
    }
  | { readonly type: "Call"; readonly of: Expression; readonly given: Given }
  | { readonly type: "Filter"; readonly of: Expression; readonly name: string; readonly given: Given }
  | {
      readonly type: "Test"
      readonly of: Expression
      readonly name: string
      readonly given: Given
      readonly isNegated: boolean
    }
  | { readonly type: "Unary"; readonly operator: "-" | "+" | "not"; readonly of: Expression }
  | { readonly type: "Binary"; readonly operator: string; readonly left: Expression; readonly right: Expression }
  | { readonly type: "Logical"; readonly operator: "and" | "or"; readonly left: Expression; readonly right: Expression }
  | {
      readonly type: "Compare"
      readonly first: Expression
      readonly rest: ReadonlyArray<readonly [operator: string, right: Expression]>
    }
  | { readonly type: "Concat"; readonly parts: ReadonlyArray<Expression> }
  | {
      readonly type: "Choice"
      readonly test: Expression
      readonly yes: Expression
      readonly no: Expression | undefined
    }

export interface Given {
  readonly positional: ReadonlyArray<{ readonly value: Expression; readonly isSpread: boolean }>
  readonly named: ReadonlyArray<readonly [name: string, value: Expression]>
  readonly spread: Expression | undefined
}

export type Target =
  | { readonly type: "Name"; readonly name: string }
  | { readonly type: "Member"; readonly of: string; readonly name: string }
  | { readonly type: "Tuple"; readonly targets: ReadonlyArray<Target> }

export type Parameter = readonly [name: string, otherwise: Expression | undefined]

export interface FilterUse {
  readonly name: string
  readonly given: Given
}

export type Statement =
  | { readonly type: "Text"; readonly text: string }
  | { readonly type: "Output"; readonly value: Expression }
  | { readonly type: "If"; readonly test: Expression; readonly yes: Body; readonly no: Body }
  | {
      readonly type: "For"
      readonly target: Target
      readonly iterable: Expression
      readonly test: Expression | undefined
      readonly isRecursive: boolean
      readonly body: Body
      readonly otherwise: Body
    }
  | { readonly type: "Set"; readonly target: Target; readonly value: Expression }
  | {
      readonly type: "SetBlock"
      readonly target: Target
      readonly filters: ReadonlyArray<FilterUse>
      readonly body: Body
    }
  | {
      readonly type: "Macro"
      readonly name: string
      readonly parameters: ReadonlyArray<Parameter>
      readonly body: Body
    }
  | {
      readonly type: "CallBlock"
      readonly parameters: ReadonlyArray<Parameter>
      readonly call: Expression
      readonly body: Body
    }
  | { readonly type: "FilterBlock"; readonly filters: ReadonlyArray<FilterUse>; readonly body: Body }
  | { readonly type: "With"; readonly values: ReadonlyArray<readonly [Target, Expression]>; readonly body: Body }
  | { readonly type: "Scope"; readonly body: Body }
  | { readonly type: "Break" | "Continue" }

export type Body = ReadonlyArray<Statement>
