#include "textflag.h"

// func skipVector(text *byte, n int, masks *[6][16]byte) int
TEXT ·skipVector(SB), NOSPLIT, $0-32
	MOVQ text+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ masks+16(FP), DX
	VBROADCASTI128 (DX), Y8
	VBROADCASTI128 16(DX), Y9
	VBROADCASTI128 32(DX), Y10
	VBROADCASTI128 48(DX), Y11
	VBROADCASTI128 64(DX), Y12
	VBROADCASTI128 80(DX), Y13
	MOVL $0x0f0f0f0f, AX
	VMOVD AX, X15
	VPBROADCASTD X15, Y15
	VPXOR Y14, Y14, Y14
	XORQ AX, AX
	SUBQ $32, CX
	JLT  done

loop:
	// The first byte: its literals by the lower half, and by the upper half.
	VMOVDQU (SI)(AX*1), Y0
	VPAND   Y15, Y0, Y1
	VPSRLW  $4, Y0, Y0
	VPAND   Y15, Y0, Y0
	VPSHUFB Y1, Y8, Y1
	VPSHUFB Y0, Y9, Y0
	VPAND   Y0, Y1, Y4

	// The second.
	VMOVDQU 1(SI)(AX*1), Y0
	VPAND   Y15, Y0, Y1
	VPSRLW  $4, Y0, Y0
	VPAND   Y15, Y0, Y0
	VPSHUFB Y1, Y10, Y1
	VPSHUFB Y0, Y11, Y0
	VPAND   Y0, Y1, Y5
	VPAND   Y5, Y4, Y4

	// The third.
	VMOVDQU 2(SI)(AX*1), Y0
	VPAND   Y15, Y0, Y1
	VPSRLW  $4, Y0, Y0
	VPAND   Y15, Y0, Y0
	VPSHUFB Y1, Y12, Y1
	VPSHUFB Y0, Y13, Y0
	VPAND   Y0, Y1, Y5
	VPAND   Y5, Y4, Y4

	VPTEST Y4, Y4
	JNZ    found
	ADDQ   $32, AX
	CMPQ   AX, CX
	JLE    loop
	JMP    done

found:
	VPCMPEQB  Y14, Y4, Y4
	VPMOVMSKB Y4, BX
	NOTL      BX
	BSFL      BX, BX
	ADDQ      BX, AX

done:
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET
