"""COSE keys (RFC 9053) of passkeys, and the signatures made with them: ES256, EdDSA and RS256."""

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from rookery.errors import AuthenticationError, DecodeError
from rookery.web.accounts.factors import cbor

ES256, EDDSA, RS256 = -7, -8, -257
ALGORITHMS = (EDDSA, ES256, RS256)  # the one wished most comes first
KEY_SIZE_MAX = 1024

_KTY, _ALG, _CRV, _X, _Y = 1, 3, -1, -2, -3
_N, _E = -1, -2  # the same numbers mean something else in an RSA key
_OKP, _EC2, _RSA = 1, 2, 3
_P256, _ED25519 = 1, 6
_COORDINATE_SIZE = 32
_RSA_BITS = range(2048, 4097)
_RSA_EXPONENT = 65_537

PublicKey = ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | rsa.RSAPublicKey
_Fields = dict[int | str, cbor.Value]


def parse_key(data: bytes) -> PublicKey:
    """A key of one of our algorithms, on its curve; DecodeError for every other."""
    fields = cbor.parse(data)
    if not isinstance(fields, dict) or len(data) > KEY_SIZE_MAX:
        raise DecodeError("a COSE key is a map, and short")
    try:
        match fields.get(_KTY), fields.get(_ALG):
            case 2, -7:
                return _p256(fields)
            case 1, -8:
                return _ed25519(fields)
            case 3, -257:
                return _rsa(fields)
            case _:
                raise DecodeError("a COSE key of a kind that was not asked for")
    except (ValueError, UnsupportedAlgorithm) as error:  # a point that is on no curve
        raise DecodeError("a COSE key with numbers that cannot be") from error


def verify(key: PublicKey, signature: bytes, message: bytes) -> None:
    """AuthenticationError unless the key made this signature of the message."""
    try:
        match key:
            case ec.EllipticCurvePublicKey():
                key.verify(signature, message, ec.ECDSA(SHA256()))
            case ed25519.Ed25519PublicKey():
                key.verify(signature, message)
            case rsa.RSAPublicKey():
                key.verify(signature, message, padding.PKCS1v15(), SHA256())
    except InvalidSignature as error:
        raise AuthenticationError("the signature is not of this passkey") from error


def _p256(fields: _Fields) -> PublicKey:
    _expect_curve(fields, _P256)
    x, y = _coordinate(fields, _X), _coordinate(fields, _Y)
    return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b"\x04" + x + y)


def _ed25519(fields: _Fields) -> PublicKey:
    _expect_curve(fields, _ED25519)
    return ed25519.Ed25519PublicKey.from_public_bytes(_coordinate(fields, _X))


def _rsa(fields: _Fields) -> PublicKey:
    n, e = (int.from_bytes(_octets(fields, name), "big") for name in (_N, _E))
    if n.bit_length() not in _RSA_BITS or e != _RSA_EXPONENT:
        raise DecodeError("an RSA key has 2048 to 4096 bits and the exponent 65537")
    return rsa.RSAPublicNumbers(e, n).public_key()


def _expect_curve(fields: _Fields, curve: int) -> None:
    if fields.get(_CRV) != curve:
        raise DecodeError("a COSE key on another curve than its algorithm's")


def _coordinate(fields: _Fields, name: int) -> bytes:
    if len(octets := _octets(fields, name)) != _COORDINATE_SIZE:
        raise DecodeError("a coordinate has 32 bytes")
    return octets


def _octets(fields: _Fields, name: int) -> bytes:
    value = fields.get(name)
    if not isinstance(value, bytes):
        raise DecodeError("a COSE key lacks a number")
    return value
