"""Writes packages/core/test/fixtures/tokenizer-kinds.json: small tokenizers of every kind, and what Python's `tokenizers` makes of texts with them.

Needs `tokenizers` (recorded with 0.22.1). The result is committed; run this again only to change it:
    python scripts/make-tokenizer-kinds.py
"""

import json
import pathlib
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers.decoders import DecodeStream

FIXTURE = pathlib.Path(__file__).parent.parent / "packages" / "core" / "test" / "fixtures" / "tokenizer-kinds.json"
CORPUS = ["the cat sat on the mat", "a cat and a hat, don't!", "The answer is 72. 1234 + 5", "größe naïve café", "def f(x): return x**2"] * 3
TEXTS = [
    "the cat", " the  cat ", "  two  blanks", "a\tb\nc", "\n\nx", "The CAT sat.", "don't, you're!", "12345 1,234.5 ½ ²", "größe NAÏVE Café", "e\u0301 o\u0308",
    "寿司🍣!", "привет, мир", "ΟΔΥΣΣΕΥΣ σας", "İstanbul ǅ ﬁ ①", "x\u00a0y\u3000z", "a\u0085b", "\ufeffbom", "\u200bzero\u200d", "...!?!", "(a)[b]{c}<d>", "a.b,c;d", "$100 $& $1 100%",
    "def f(x):\n    return x**2  # 3.14", "<tag>", "a<tag>b", "a <tag> b", "  <tag>  ", "<tag><tag>", "word<word>", "<word> end", "x <word>!", "<word>word", "cat_hat", "café<word>é",
    "▁", "▁▁ a", "a▁b", "<0x41>", "<unk>", "<s>", "</s>", "a</s>b", "Ġ", "the" * 40, "ab cd" * 30, "\u0000", "🏳️‍🌈 👍🏽", "ä" * 3 + "🍣" * 2, "tHe CaT", "   ", " ",
]
SPECIAL = ["<unk>", "<s>", "</s>"]


def train(model, trainer_class, vocab_size, pre=None, norm=None, extra=(), **options):
    tokenizer = Tokenizer(model)
    if pre is not None:
        tokenizer.pre_tokenizer = pre
    if norm is not None:
        tokenizer.normalizer = norm
    trainer = trainer_class(vocab_size=vocab_size, special_tokens=SPECIAL + list(extra), show_progress=False, **options)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


BYTES = [f"<0x{b:02X}>" for b in range(256)]


def bpe(pre=None, norm=None, decoder=None, extra=(), vocab_size=110, model=None, **options):
    tokenizer = train(model or models.BPE(unk_token="<unk>", fuse_unk=False), trainers.BpeTrainer, vocab_size + len(extra), pre, norm, extra, **options)
    if decoder is not None:
        tokenizer.decoder = decoder
    return tokenizer


def byte_level(**options):
    pre = options.pop("pre", pre_tokenizers.ByteLevel(add_prefix_space=options.pop("add_prefix_space", False), use_regex=options.pop("use_regex", True)))
    return bpe(pre=pre, decoder=decoders.ByteLevel(), vocab_size=330, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), model=models.BPE(), **options)


def unigram(pre=None, norm=None, decoder=None, byte_fallback=False, extra=()):
    trained = train(models.Unigram(), trainers.UnigramTrainer, 90, pre, norm, unk_token="<unk>")
    vocab = json.loads(trained.to_str())["model"]["vocab"]
    pieces = [(piece, score) for piece, score in vocab] + [(piece, -20.0) for piece in extra]
    if byte_fallback:
        pieces += [(piece, 0.0) for piece in BYTES]
    tokenizer = Tokenizer(models.Unigram(pieces, 0, byte_fallback))
    if pre is not None:
        tokenizer.pre_tokenizer = pre
    if norm is not None:
        tokenizer.normalizer = norm
    if decoder is not None:
        tokenizer.decoder = decoder
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


def words(pre, norm=None, **options):
    tokenizer = train(models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer, 80, pre, norm)
    for key, value in options.items():
        setattr(tokenizer, key, value)
    return tokenizer


def wordpiece(pre, norm=None, decoder=None):
    tokenizer = train(models.WordPiece(unk_token="<unk>"), trainers.WordPieceTrainer, 110, pre, norm)
    tokenizer.decoder = decoder or decoders.WordPiece(prefix="##", cleanup=False)
    return tokenizer


def with_tokens(tokenizer, *tokens):
    tokenizer.add_tokens(list(tokens))
    return tokenizer


def framed(tokenizer):
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
    )
    return tokenizer


meta = pre_tokenizers.Metaspace
llama = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
llama_normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
gemma = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
split = pre_tokenizers.Split
gpt4 = Regex(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
word = AddedToken("<word>", single_word=True)
tag = AddedToken("<tag>")

KINDS = {
    "byte-level BPE": lambda: byte_level(),
    "byte-level BPE, prefix blank": lambda: framed(byte_level(add_prefix_space=True)),
    "byte-level BPE without pattern": lambda: byte_level(use_regex=False),
    "byte-level BPE, pattern of GPT-4": lambda: byte_level(pre=pre_tokenizers.Sequence([split(gpt4, "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])),
    "byte-level BPE, digits apart": lambda: byte_level(pre=pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(False)])),
    "byte-level BPE, NFC": lambda: byte_level(norm=normalizers.NFC()),
    "byte-level BPE, added tokens": lambda: with_tokens(byte_level(), tag, word, AddedToken("é"), AddedToken("  ")),
    "BPE with byte fallback, Llama": lambda: framed(bpe(norm=llama_normalizer, decoder=llama, extra=BYTES, model=models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))),
    "BPE with byte fallback, Gemma": lambda: bpe(norm=normalizers.Replace(" ", "▁"), pre=split(" ", "merged_with_previous"), decoder=gemma, extra=BYTES, model=models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True)),
    "BPE, Metaspace first, byte fallback": lambda: with_tokens(bpe(pre=meta(prepend_scheme="first", split=False), decoder=llama, extra=BYTES, model=models.BPE(unk_token="<unk>", byte_fallback=True)), tag),
    "BPE, end of word": lambda: bpe(pre=pre_tokenizers.WhitespaceSplit(), decoder=decoders.BPEDecoder(), model=models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"), end_of_word_suffix="</w>"),
    "BPE without unknown token": lambda: bpe(pre=pre_tokenizers.WhitespaceSplit(), model=models.BPE()),
    "Unigram, Metaspace": lambda: unigram(pre=meta(), decoder=decoders.Metaspace()),
    "Unigram, Metaspace unsplit": lambda: unigram(pre=meta(split=False), decoder=decoders.Metaspace(), extra=("t▁c", "e▁c", "▁▁")),
    "Unigram, Metaspace split": lambda: unigram(pre=meta(split=True), decoder=decoders.Metaspace(), extra=("t▁c", "e▁c", "▁▁")),
    "Unigram, Metaspace first": lambda: with_tokens(unigram(pre=meta(prepend_scheme="first"), decoder=decoders.Metaspace(prepend_scheme="first")), tag, word),
    "Unigram, Metaspace never": lambda: unigram(pre=meta(prepend_scheme="never"), decoder=decoders.Metaspace(prepend_scheme="never")),
    "Unigram with byte fallback": lambda: framed(unigram(pre=meta(), decoder=decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()]), byte_fallback=True)),
    "Unigram with byte fallback, Replace": lambda: unigram(norm=llama_normalizer, decoder=llama, byte_fallback=True),
    "Unigram, whitespace and NFKC": lambda: unigram(pre=pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), meta()]), norm=normalizers.NFKC(), decoder=decoders.Metaspace()),
    "WordPiece, Bert": lambda: wordpiece(pre_tokenizers.BertPreTokenizer(), normalizers.BertNormalizer()),
    "WordPiece, Bert cased": lambda: wordpiece(pre_tokenizers.BertPreTokenizer(), normalizers.BertNormalizer(lowercase=False), decoders.WordPiece(cleanup=True)),
    "WordPiece, strip accents": lambda: wordpiece(pre_tokenizers.Whitespace(), normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()])),
    "WordLevel, whitespace": lambda: words(pre_tokenizers.Whitespace()),
    "WordLevel, whitespace split": lambda: words(pre_tokenizers.WhitespaceSplit(), normalizers.Lowercase()),
    "WordLevel, punctuation": lambda: words(pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])),
    "WordLevel, punctuation contiguous": lambda: words(pre_tokenizers.Punctuation("contiguous"), normalizers.Strip()),
    "WordLevel, digits": lambda: words(pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Digits(False)])),
    "WordLevel, fixed length": lambda: words(pre_tokenizers.FixedLength(2)),
    "WordLevel, replaced": lambda: words(pre_tokenizers.WhitespaceSplit(), normalizers.Sequence([normalizers.Replace("$", "$&"), normalizers.Replace(Regex(r"\s+"), " ")])),
    **{f"WordLevel, split {behavior}{' inverted' if invert else ''}": lambda behavior=behavior, invert=invert: words(split(Regex(r"[aeo ]"), behavior, invert))
       for behavior in ("isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous") for invert in (False, True)},
    "WordLevel, split by text": lambda: words(split("a", "isolated")),
}


def streamed(tokenizer, ids, skip):
    stream = DecodeStream(skip_special_tokens=skip)
    return [stream.step(tokenizer, one) or "" for one in ids]


def record(tokenizer):
    cases = []
    size = tokenizer.get_vocab_size()
    random.seed(5)
    drawn = [[random.randrange(size) for _ in range(random.randint(1, 8))] for _ in range(25)]
    for text in TEXTS:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        cases.append({"ids": ids, "framed": tokenizer.encode(text).ids, "decoded": tokenizer.decode(ids, skip_special_tokens=False),
                      "skipped": tokenizer.decode(ids, skip_special_tokens=True)})
    sequences = [{"ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=False), "skipped": tokenizer.decode(ids, skip_special_tokens=True)} for ids in drawn + [[size + 5], []]]
    streams = [{"ids": case["ids"], "pieces": streamed(tokenizer, case["ids"], False)} for case in cases if 1 < len(case["ids"]) < 40][:25]
    return {"texts": cases, "sequences": sequences, "streams": streams}


def main():
    kinds = []
    for name, build in KINDS.items():
        tokenizer = build()
        kinds.append({"name": name, "tokenizer": json.loads(tokenizer.to_str()), **record(tokenizer)})
    FIXTURE.write_text(json.dumps({"texts": TEXTS, "kinds": kinds}, ensure_ascii=True, separators=(",", ":")) + "\n")
    print(len(kinds), "kinds", FIXTURE.stat().st_size, "bytes")


main()
