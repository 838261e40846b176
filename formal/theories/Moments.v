(* Theorems 1, 2, 8, 13 and 14 for moments: how far sums of products of rows move, with their trace and without.

   A person is a family of rows k_t with appended numbers c_t (a constant, or what weights have made of it). Nothing is
   asked of them but that their squared lengths add up to at most so much. One row, m rows, and any number of rows whose
   weights were worked into them are all such families. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Graphveil Require Import Vectors.
Import Order.Theory GRing.Theory Num.Theory.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Moments.
Variable R : realDomainType.
Variable I : finType.
Implicit Types S T : finType.

Definition products T (k : T -> I -> R) i j : R := \sum_t k t i * k t j.
Definition crosses T (k : T -> I -> R) (c : T -> R) i : R := \sum_t k t i * c t.
Definition trace (M : I -> I -> R) : R := \sum_i M i i.

(* Squared length of the released vector, noise counted: all entries of the matrix, the products with what is appended on
   both sides of the diagonal, and the trace over rows. The corner, the sum of c^2, is not released. *)
Definition frobenius (D : I -> I -> R) (d : I -> R) : R := \sum_i \sum_j D i j ^+ 2 + 2%:R * sq d.
Definition with_trace D d : R := frobenius D d + trace D ^+ 2.

Definition lengths T (k : T -> I -> R) : R := \sum_t sq (k t).
Definition squares T (c : T -> R) : R := \sum_t c t ^+ 2.

Lemma lengths_ge0 T (k : T -> I -> R) : 0 <= lengths k.
Proof. by apply: sumr_ge0 => t _; apply: sq_ge0. Qed.

Lemma squares_ge0 T (c : T -> R) : 0 <= squares c.
Proof. by apply: sumr_ge0 => t _; apply: sqr_ge0. Qed.

Lemma trace_products T (k : T -> I -> R) : trace (products k) = lengths k.
Proof. by rewrite /trace /products exchange_big. Qed.

(* The inner product of what two families add up to, corners included: a sum of squares of inner products of rows. *)
Definition inner S T (k : S -> I -> R) c (l : T -> I -> R) d : R := \sum_s \sum_t (dot (k s) (l t) + c s * d t) ^+ 2.

Lemma innerE S T (k : S -> I -> R) c (l : T -> I -> R) d :
  \sum_i \sum_j products k i j * products l i j + 2%:R * (\sum_i crosses k c i * crosses l d i) + squares c * squares d
  = inner k c l d.
Proof.
have A : \sum_i \sum_j products k i j * products l i j = \sum_s \sum_t dot (k s) (l t) ^+ 2.
  transitivity (\sum_i \sum_j \sum_s \sum_t (k s i * l t i) * (k s j * l t j)).
    apply: eq_bigr => i _; apply: eq_bigr => j _; rewrite big_distrlr.
    by apply: eq_bigr => s _; apply: eq_bigr => t _ /=; ring.
  rewrite (eq_bigr _ (fun i _ => exchange_big _ _ _ _ _ _)) exchange_big; apply: eq_bigr => s _.
  under eq_bigr do rewrite exchange_big; rewrite exchange_big; apply: eq_bigr => t _.
  by rewrite expr2 /dot big_distrlr.
have B : \sum_i crosses k c i * crosses l d i = \sum_s \sum_t dot (k s) (l t) * (c s * d t).
  transitivity (\sum_i \sum_s \sum_t (k s i * l t i) * (c s * d t)).
    apply: eq_bigr => i _; rewrite big_distrlr.
    by apply: eq_bigr => s _; apply: eq_bigr => t _ /=; ring.
  rewrite exchange_big; apply: eq_bigr => s _; rewrite exchange_big; apply: eq_bigr => t _.
  by rewrite mulr_suml.
rewrite A B [X in _ + X]big_distrlr mulr_sumr -2!big_split; apply: eq_bigr => s _ /=.
by rewrite mulr_sumr -2!big_split; apply: eq_bigr => t _ /=; ring.
Qed.

Lemma inner_ge0 S T (k : S -> I -> R) c (l : T -> I -> R) d : 0 <= inner k c l d.
Proof. by apply: sumr_ge0 => s _; apply: sumr_ge0 => t _; apply: sqr_ge0. Qed.

(* The Frobenius norm of a positive matrix is at most its trace. *)
Lemma inner_le T (k : T -> I -> R) c : inner k c k c <= (lengths k + squares c) ^+ 2.
Proof.
rewrite /lengths /squares -big_split expr2 big_distrlr.
apply: ler_sum => s _; apply: ler_sum => t _ /=.
pose z t (o : option I) := if o is Some i then k t i else c t.
have big_option (F : option I -> R) : \sum_o F o = F None + \sum_i F (Some i).
  rewrite (bigD1 None) //=; congr (_ + _); rewrite (reindex_omap Some id) /=; last by case.
  by apply: eq_bigl => i; rewrite eqxx.
by have := cauchy (z s) (z t); rewrite /sq /dot !big_option /= addrC [_ + c s ^+ 2]addrC [_ + c t ^+ 2]addrC.
Qed.

(* What a person adds, released without its trace: theorem 14. *)
Theorem added T (k : T -> I -> R) (c : T -> R) (B : R) :
  lengths k + squares c <= B -> frobenius (products k) (crosses k c) <= B ^+ 2.
Proof.
move=> kB; have ge0 : 0 <= lengths k + squares c by rewrite addr_ge0 ?lengths_ge0 ?squares_ge0.
apply: (@le_trans _ _ (inner k c k c)).
  by rewrite -innerE ler_addl mulr_ge0 ?squares_ge0.
by apply: le_trans (inner_le k c) _; rewrite ler_sqr ?nnegrE // (le_trans ge0).
Qed.

(* The inequality between traces: it rises with u and v, and is convex in x and y. *)
Lemma traces (x u y v P C : R) : 0 <= x -> 0 <= u -> 0 <= y -> 0 <= v -> x <= P -> y <= P -> u <= C -> v <= C ->
  (x + u) ^+ 2 + (y + v) ^+ 2 - (u - v) ^+ 2 + (x - y) ^+ 2 <= 2%:R * (P + C) ^+ 2.
Proof.
move=> x0 u0 y0 v0 xP yP uC vC.
have -> : (x + u) ^+ 2 + (y + v) ^+ 2 - (u - v) ^+ 2 + (x - y) ^+ 2
        = 2%:R * (x ^+ 2 + y ^+ 2 - x * y + x * u + y * v + u * v) by ring.
apply: ler_wpmul2l; first exact: ler0n.
have P0 := le_trans x0 xP; have C0 := le_trans u0 uC.
have -> : (P + C) ^+ 2 = P ^+ 2 + P * C + P * C + C * C by ring.
apply: ler_add; last exact: ler_pmul.
apply: ler_add; last exact: ler_pmul.
apply: ler_add; last exact: ler_pmul.
(* x^2 + y^2 - xy <= P^2 *)
wlog xy : x y x0 y0 xP yP / x <= y.
  move=> H; have [xy|/ltW yx] := leP x y; first exact: H.
  have -> : x ^+ 2 + y ^+ 2 - x * y = y ^+ 2 + x ^+ 2 - y * x by ring.
  exact: H.
apply: (@le_trans _ _ (y ^+ 2)); last by rewrite ler_sqr.
have -> : x ^+ 2 + y ^+ 2 - x * y = y ^+ 2 - x * (y - x) by ring.
by rewrite ler_subl_addr ler_addl mulr_ge0 // subr_ge0.
Qed.

(* One person replaced by another: theorems 1, 2, 8 and 13. *)
Theorem replaced S T (k : S -> I -> R) (c : S -> R) (l : T -> I -> R) (d : T -> R) (P C : R) :
  lengths k <= P -> lengths l <= P -> squares c <= C -> squares d <= C ->
  with_trace (fun i j => products k i j - products l i j) (fun i => crosses k c i - crosses l d i)
    <= 2%:R * (P + C) ^+ 2.
Proof.
move=> kP lP cC dC; set D := fun i j => _; set e := fun i => _.
have F : frobenius D e + (squares c - squares d) ^+ 2 = inner k c k c + inner l d l d - 2%:R * inner k c l d.
  rewrite -!innerE /frobenius /sq /D /e.
  have -> : \sum_i \sum_j (products k i j - products l i j) ^+ 2
    = \sum_i \sum_j products k i j * products k i j + \sum_i \sum_j products l i j * products l i j
      - 2%:R * (\sum_i \sum_j products k i j * products l i j).
    rewrite mulr_sumr -sumrN -2!big_split; apply: eq_bigr => i _ /=.
    by rewrite mulr_sumr -sumrN -2!big_split; apply: eq_bigr => j _ /=; ring.
  have -> : \sum_i (crosses k c i - crosses l d i) ^+ 2
    = \sum_i crosses k c i * crosses k c i + \sum_i crosses l d i * crosses l d i
      - 2%:R * (\sum_i crosses k c i * crosses l d i).
    by rewrite mulr_sumr -sumrN -2!big_split; apply: eq_bigr => i _ /=; ring.
  by ring.
have tr : trace D = lengths k - lengths l by rewrite -!trace_products -sumrB.
have le : frobenius D e + (squares c - squares d) ^+ 2 <= (lengths k + squares c) ^+ 2 + (lengths l + squares d) ^+ 2.
  rewrite F ler_subl_addr; apply: ler_paddr; first by rewrite mulr_ge0 ?inner_ge0 // ler0n.
  by apply: ler_add; apply: inner_le.
apply: le_trans (traces (lengths_ge0 k) (squares_ge0 c) (lengths_ge0 l) (squares_ge0 d) kP lP cC dC).
by rewrite /with_trace tr ler_add2r ler_subr_addr.
Qed.

End Moments.

(* Orthogonal rows of full length attain the bound, with the trace and without; so does one row against none, which is
   why a trace is not released where people are added or removed. *)
Section Tight.
Variables (R : realDomainType) (B : R).
Definition axis (j : 'I_2) (_ : unit) (i : 'I_2) : R := if i == j then B else 0.
Definition nothing (_ : unit) : R := 0.

Lemma frobenius_attained :
  frobenius (fun i j => products (axis ord0) i j - products (axis ord_max) i j)
            (fun i => crosses (axis ord0) nothing i - crosses (axis ord_max) nothing i) = 2%:R * (B ^+ 2) ^+ 2.
Proof.
rewrite /frobenius /sq /products /crosses /nothing /axis.
do ![rewrite !big_ord_recl /= | rewrite !big_ord0 /= | rewrite big_const card_unit /=]; ring.
Qed.

Lemma trace_costs : with_trace (products (axis ord0)) (crosses (axis ord0) nothing) = 2%:R * (B ^+ 2) ^+ 2.
Proof.
rewrite /with_trace /frobenius /trace /sq /products /crosses /nothing /axis.
do ![rewrite !big_ord_recl /= | rewrite !big_ord0 /= | rewrite big_const card_unit /=]; ring.
Qed.
End Tight.
