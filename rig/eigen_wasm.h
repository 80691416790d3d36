/* eigen_wasm.h: vectors of two doubles and of four floats for Eigen on WebAssembly, which it has none of: products and
   factorizations are then about twice as fast. Include it after Eigen/Core and before anything is made of it. Operators of the
   compiler's vector types do the arithmetic; what Eigen wants beyond them is here, and what it can do without is declared absent.
   EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS is to be 16: products then keep 4 by 4 results in registers. */

#ifndef PELT_EIGEN_WASM_H
#define PELT_EIGEN_WASM_H

#include <cstring>

namespace Eigen {
namespace internal {

typedef double two_doubles __attribute__((vector_size(16)));
typedef float four_floats __attribute__((vector_size(16)));

template <typename number, typename vector> struct wasm_traits : default_packet_traits {
    typedef vector type;
    typedef vector half;
    enum {
        Vectorizable = 1,
        AlignedOnScalar = 1,
        size = sizeof(vector) / sizeof(number),
        HasHalfPacket = 0,
        HasDiv = 1,
        HasAbs = 0,
        HasMin = 0,
        HasMax = 0,
        HasConj = 0,
        HasSetLinear = 0
    };
};

template <> struct packet_traits<double> : wasm_traits<double, two_doubles> {};
template <> struct packet_traits<float> : wasm_traits<float, four_floats> {};

template <typename number, typename vector> struct wasm_untraits {
    typedef number type;
    typedef vector half;
    enum {
        size = sizeof(vector) / sizeof(number),
        alignment = Aligned16,
        vectorizable = true,
        masked_load_available = false,
        masked_store_available = false
    };
};
template <> struct unpacket_traits<two_doubles> : wasm_untraits<double, two_doubles> {
    typedef long long integer_packet __attribute__((vector_size(16)));
};
template <> struct unpacket_traits<four_floats> : wasm_untraits<float, four_floats> {
    typedef int integer_packet __attribute__((vector_size(16)));
};

/* -- Loads and stores, which WebAssembly does not want aligned -- */

#define PELT_VECTOR(number, vector)                                                                                    \
    template <> EIGEN_STRONG_INLINE vector ploadu<vector>(const number *from) {                                        \
        vector v;                                                                                                      \
        std::memcpy(&v, from, sizeof v);                                                                               \
        return v;                                                                                                      \
    }                                                                                                                  \
    template <> EIGEN_STRONG_INLINE vector pload<vector>(const number *from) { return ploadu<vector>(from); }          \
    template <> EIGEN_STRONG_INLINE void pstoreu<number>(number * to, const vector &v) {                               \
        std::memcpy(to, &v, sizeof v);                                                                                 \
    }                                                                                                                  \
    template <> EIGEN_STRONG_INLINE void pstore<number>(number * to, const vector &v) { pstoreu<number>(to, v); }      \
    template <> EIGEN_STRONG_INLINE number pfirst<vector>(const vector &v) { return v[0]; }                            \
    template <> EIGEN_STRONG_INLINE vector pconj(const vector &v) { return v; }

PELT_VECTOR(double, two_doubles)
PELT_VECTOR(float, four_floats)
#undef PELT_VECTOR

template <> EIGEN_STRONG_INLINE two_doubles pset1<two_doubles>(const double &x) { return two_doubles{x, x}; }
template <> EIGEN_STRONG_INLINE four_floats pset1<four_floats>(const float &x) { return four_floats{x, x, x, x}; }
template <> EIGEN_STRONG_INLINE two_doubles ploaddup<two_doubles>(const double *from) {
    return pset1<two_doubles>(*from);
}
template <> EIGEN_STRONG_INLINE four_floats ploaddup<four_floats>(const float *from) {
    return four_floats{from[0], from[0], from[1], from[1]};
}
template <> EIGEN_STRONG_INLINE four_floats ploadquad<four_floats>(const float *from) {
    return pset1<four_floats>(*from);
}

template <> EIGEN_DEVICE_FUNC inline two_doubles pgather<double, two_doubles>(const double *from, Index stride) {
    return two_doubles{from[0], from[stride]};
}
template <> EIGEN_DEVICE_FUNC inline four_floats pgather<float, four_floats>(const float *from, Index stride) {
    return four_floats{from[0], from[stride], from[2 * stride], from[3 * stride]};
}
template <>
EIGEN_DEVICE_FUNC inline void pscatter<double, two_doubles>(double *to, const two_doubles &v, Index stride) {
    to[0] = v[0], to[stride] = v[1];
}
template <> EIGEN_DEVICE_FUNC inline void pscatter<float, four_floats>(float *to, const four_floats &v, Index stride) {
    for (int i = 0; i < 4; i++) to[i * stride] = v[i];
}

/* -- Across a vector -- */

template <> EIGEN_STRONG_INLINE two_doubles preverse(const two_doubles &v) {
    return __builtin_shufflevector(v, v, 1, 0);
}
template <> EIGEN_STRONG_INLINE four_floats preverse(const four_floats &v) {
    return __builtin_shufflevector(v, v, 3, 2, 1, 0);
}
template <> EIGEN_STRONG_INLINE double predux<two_doubles>(const two_doubles &v) { return v[0] + v[1]; }
template <> EIGEN_STRONG_INLINE float predux<four_floats>(const four_floats &v) {
    return (v[0] + v[2]) + (v[1] + v[3]);
}
template <> EIGEN_STRONG_INLINE double predux_mul<two_doubles>(const two_doubles &v) { return v[0] * v[1]; }
template <> EIGEN_STRONG_INLINE float predux_mul<four_floats>(const four_floats &v) {
    return (v[0] * v[2]) * (v[1] * v[3]);
}

EIGEN_STRONG_INLINE void ptranspose(PacketBlock<two_doubles, 2> &block) {
    two_doubles a = block.packet[0], b = block.packet[1];
    block.packet[0] = __builtin_shufflevector(a, b, 0, 2), block.packet[1] = __builtin_shufflevector(a, b, 1, 3);
}
EIGEN_STRONG_INLINE void ptranspose(PacketBlock<four_floats, 4> &block) {
    four_floats *p = block.packet;
    four_floats a = __builtin_shufflevector(p[0], p[1], 0, 4, 1, 5),
                b = __builtin_shufflevector(p[2], p[3], 0, 4, 1, 5);
    four_floats c = __builtin_shufflevector(p[0], p[1], 2, 6, 3, 7),
                d = __builtin_shufflevector(p[2], p[3], 2, 6, 3, 7);
    p[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5), p[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    p[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5), p[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

} // namespace internal
} // namespace Eigen

#endif
