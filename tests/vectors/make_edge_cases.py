"""Makes edge-cases.json: published cases where implementations of these primitives went wrong.

python tests/vectors/make_edge_cases.py > tests/vectors/edge-cases.json

X25519 and its points of small order: RFC 7748, sections 5.2 and 7. Ed25519: RFC 8032, section 7.1,
and the points of small order on its curve. AES-256-GCM: cases 13 and 14 of its specification.
ChaCha20-Poly1305: RFC 8439, appendix A.5. Those two have nonces that a channel packet can have.
"""

import json

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
U8 = (
    325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823,
)
TOP = 1 << 255  # the bit of a u that is ignored

KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
SIGNATURE = (
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
    "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
)
Y8 = (
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
)
CHACHA = (
    "64a0861575861af460f062c79be643bd5e805cfd345cf389f108670ac76c8cb2"
    "4c6cfc18755d43eea09ee94e382d26b0bdb7b73c321b0100d4f03b7f355894cf"
    "332f830e710b97ce98c8a84abd0b948114ad176e008d33bd60f982b1ff37c855"
    "9797a06ef4f0ef61c186324e2b3506383606907b6a7c02b0f9f6157b53c867e4"
    "b9166c767b804d46a59b5216cde7a4e99040c5a40433225ee282a1b0a06c523e"
    "af4534d7f83fa1155b0047718cbc546a0d072b04b3564eea1b422273f548271a"
    "0bb2316053fa76991955ebd63159434ecebb4e466dae5a1073a6727627097a10"
    "49e617d91d361094fa68f0ff77987130305beaba2eda04df997b714d6c6f2c29"
    "a6ad5cb4022b02709b"
)


def little(number: int) -> str:
    return number.to_bytes(32, "little").hex()


def small_order_u() -> list[str]:
    points = [0, 1, *U8, P - 1, P, P + 1]
    return [little(each) for each in points] + [little(each | TOP) for each in points]


def malleable() -> str:
    half = bytes.fromhex(SIGNATURE)
    return half[:32].hex() + little(int.from_bytes(half[32:], "little") + ORDER)


def aead(name: str, cipher: str, key: str, counter: str, token: str, sealed: str) -> object:
    fields = ("name", "cipher", "key", "counter", "token", "sealed")
    return dict(zip(fields, (name, cipher, key, counter, token, sealed), strict=True))


def main() -> None:
    agreements = [
        {
            "scalar": "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "u": "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "shared": "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        },
        {
            "scalar": "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "u": "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "shared": "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
        },
    ]
    identity = little(1)
    small = [little(0), identity, little(P - 1), little(P), little(P + 1), *Y8]
    zeros = "00" * 32
    print(
        json.dumps(
            {
                "x25519": {
                    "agreements": agreements,
                    "small_order": small_order_u(),
                    "same": [[little(9), little(P + 9)], [little(9), little(9 | TOP)]],
                },
                "ed25519": {
                    "valid": {"key": KEY, "message": "", "signature": SIGNATURE},
                    "malleable": malleable(),
                    "small_order_keys": small,
                    "forgery": identity + zeros,
                },
                "aead": [
                    aead(
                        "nothing sealed",
                        "aes-256-gcm",
                        zeros,
                        "00" * 8,
                        "",
                        "530f8afbc74536b9a963b4f1c4cb738b",
                    ),
                    aead(
                        "one block",
                        "aes-256-gcm",
                        zeros,
                        "00" * 8,
                        "",
                        "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919",
                    ),
                    aead(
                        "not a whole block",
                        "chacha20-poly1305",
                        "1c9240a5eb55d38af333888604f6b5f0473917c1402b80099dca5cbc207075c0",
                        "0102030405060708",
                        "f33388860000000000004e91",
                        CHACHA + "eead9d67890cbb22392336fea1851f38",
                    ),
                ],
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
